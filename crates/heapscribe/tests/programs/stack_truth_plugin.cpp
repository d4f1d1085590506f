// What stack_truth.cpp loads and unloads: it allocates by the program's `operator new`, and calls back.
#include <functional>
#include <string>
#include <vector>

static size_t joined(const std::vector<std::function<std::string()>> &parts) {
    std::string all;
    for (auto &part : parts) all += part();
    return all.size();
}

extern "C" void plugged_in(void (*calls_back)()) {
    std::vector<std::function<std::string()>> parts;
    for (size_t i = 0; i < 9; i++) parts.push_back([i] { return std::string(30 * i, 'p'); });
    if (joined(parts)) calls_back();
}
