// Work for a compiler's heap: templates within templates, no header of anybody. Compiled, never run.
using size = decltype(sizeof 0);

template <size... I> struct indices {};
template <size N, size... I> struct make_indices : make_indices<N - 1, N - 1, I...> {};
template <size... I> struct make_indices<0, I...> { using type = indices<I...>; };

template <class... T> struct list {};
template <class A, class B> struct join;
template <class... A, class... B> struct join<list<A...>, list<B...>> { using type = list<A..., B...>; };

template <size N> struct number { static constexpr size value = N; };
template <class T, size I> struct leaf {
    T value;
    constexpr leaf(T v) : value(v) {}
};
template <class I, class... T> struct record;
template <size... I, class... T> struct record<indices<I...>, T...> : leaf<T, I>... {
    constexpr record(T... v) : leaf<T, I>(v)... {}
    template <class F> constexpr auto map(F f) const { return record<indices<I...>, decltype(f(T()))...>(f(static_cast<const leaf<T, I> &>(*this).value)...); }
    template <class F> constexpr size fold(F f) const { size sum = 0; ((sum = f(sum, static_cast<const leaf<T, I> &>(*this).value)), ...); return sum; }
};
template <class... T> constexpr auto make_record(T... v) { return record<typename make_indices<sizeof...(T)>::type, T...>(v...); }

template <bool C, class A, class B> struct choose { using type = A; };
template <class A, class B> struct choose<false, A, B> { using type = B; };

// Merge sort of a list of numbers, at compile time.
template <class A, class B, class Out = list<>> struct merge;
template <class... B, class... O> struct merge<list<>, list<B...>, list<O...>> { using type = list<O..., B...>; };
template <class A, class... As, class... O> struct merge<list<A, As...>, list<>, list<O...>> { using type = list<O..., A, As...>; };
template <class A, class... As, class B, class... Bs, class... O> struct merge<list<A, As...>, list<B, Bs...>, list<O...>> {
    using type = typename choose<(A::value < B::value), merge<list<As...>, list<B, Bs...>, list<O..., A>>, merge<list<A, As...>, list<Bs...>, list<O..., B>>>::type::type;
};
template <class L> struct sort { using type = L; };
template <class A, class B, class... R> struct split { };
template <class... O, class... E> struct split<list<O...>, list<E...>> { using odd = list<O...>; using even = list<E...>; };
template <class... O, class... E, class A> struct split<list<O...>, list<E...>, A> { using odd = list<O..., A>; using even = list<E...>; };
template <class... O, class... E, class A, class B, class... R> struct split<list<O...>, list<E...>, A, B, R...> : split<list<O..., A>, list<E..., B>, R...> {};
template <class A, class B, class... R> struct sort<list<A, B, R...>> {
    using halves = split<list<>, list<>, A, B, R...>;
    using type = typename merge<typename sort<typename halves::odd>::type, typename sort<typename halves::even>::type>::type;
};

template <size Seed, class I> struct numbers;
template <size Seed, size... I> struct numbers<Seed, indices<I...>> { using type = list<number<(I * 7919 + Seed * 104729) % 1009>...>; };

template <class L> struct sum;
template <class... N> struct sum<list<N...>> {
    static size of(size x) {
        auto all = make_record((N::value + x)...);
        auto doubled = all.map([](size v) { return v * 2 + 1; }).map([](size v) { return v ^ (v >> 3); });
        return doubled.fold([](size a, size v) { return a * 31 + v; }) + all.fold([](size a, size v) { return a ^ v; });
    }
};

template <size N> struct run {
    static size all(size x) { return sum<typename sort<typename numbers<N, typename make_indices<48 + N % 7>::type>::type>::type>::of(x) + run<N - 1>::all(x + N); }
};
template <> struct run<0> { static size all(size x) { return x; } };

size result(size x) { return run<TURNS>::all(x); }
