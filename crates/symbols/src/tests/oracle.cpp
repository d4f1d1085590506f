// Templates, lambdas, namespaces and inlined calls: what names and lines of a program are like.
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <regex>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

namespace shop {
namespace {
struct Order {
    std::string name;
    std::vector<int> amounts;
    bool operator<(const Order &other) const { return name < other.name; }
    int operator()(int factor) const { return factor * static_cast<int>(amounts.size()); }
};
} // namespace

template <typename Key, typename Value> class Index {
  public:
    void add(Key key, Value value) { all[std::move(key)].push_back(std::move(value)); }
    template <typename Take> void each(Take take) const {
        for (const auto &[key, values] : all)
            for (const auto &value : values) take(key, value);
    }

  private:
    std::map<Key, std::vector<Value>> all;
};

static Order read(const std::string &line) {
    std::istringstream words(line);
    Order order;
    words >> order.name;
    for (int amount; words >> amount;) order.amounts.push_back(amount);
    return order;
}
} // namespace shop

int main(int argc, char **argv) {
    shop::Index<std::string, shop::Order> index;
    std::unordered_map<std::string, std::function<int(int)>> known;
    std::regex wanted("[a-c]+");
    for (int n = 0; n < 100 + argc; n++) {
        auto order = shop::read("a" + std::to_string(n % 7) + " 1 2 3 " + argv[0]);
        if (std::regex_search(order.name, wanted)) known[order.name] = order;
        index.add(order.name, order);
    }
    int sum = 0;
    index.each([&](const std::string &name, const shop::Order &order) { sum += known[name](2) + order(3); });
    auto text = std::make_unique<std::ostringstream>();
    *text << sum;
    return text->str().size() == 0;
}
