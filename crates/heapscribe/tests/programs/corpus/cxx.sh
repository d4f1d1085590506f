cat > work.cpp <<'END'
#include <algorithm>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>
int main() {
    std::map<std::string, std::vector<int>> words;
    for (int n = 0; n < 20000; n++) words["w" + std::to_string(n * 31 % 997)].push_back(n);
    std::vector<std::thread> threads;
    std::vector<size_t> sums(4);
    for (int t = 0; t < 4; t++)
        threads.emplace_back([&, t] { for (auto &[word, list] : words) sums[t] += std::string(word + "!").size() * list.size(); });
    for (auto &thread : threads) thread.join();
    try { throw std::runtime_error("thrown"); } catch (const std::exception &e) { std::cout << e.what() << '\n'; }
    std::cout << words.size() << ' ' << sums[0] << sums[3] << '\n';
}
END
g++ -std=c++17 -pthread work.cpp -o out/work && out/work
