<?php
// Says at each tagged block which functions there are, and at which lines, by debug_backtrace: one line a block,
// "size<TAB>name US file US line<TAB>...", the innermost first. argv: rounds, and where to write.
const TAG_LINE = 16;
$zend = FFI::cdef('void *_emalloc(size_t size); void _efree(void *block);');
$notes = fopen($argv[2], 'w');
$blocks = 0;
$rounds = (int) $argv[1];

// A block of its own size.
function tag(): int
{
    global $zend, $notes, $blocks;
    $size = 1000003 + $blocks++;
    $block =
        $zend->_emalloc($size);
    $zend->_efree($block);
    // Each entry has the function, and the place in the next one that it was called at.
    [$file, $line] = [__FILE__, TAG_LINE];
    $frames = "_emalloc\x1f\x1f0";
    foreach (debug_backtrace(DEBUG_BACKTRACE_IGNORE_ARGS) as $entry) {
        $name = match ($entry['function']) {
            'include', 'require', 'include_once', 'require_once' => '{main}',
            'eval' => '{eval}',
            default => isset($entry['class']) ? "$entry[class]::$entry[function]" : $entry['function'],
        };
        $frames .= "\t$name\x1f$file\x1f$line";
        [$file, $line] = [$entry['file'] ?? '', $entry['line'] ?? 0];
    }
    // What PHP calls at its end has nobody around it.
    $frames .= $file == '' ? '' : "\t{main}\x1f$file\x1f$line";
    fwrite($notes, "$size\t$frames\n");
    return $size;
}

trait Counted
{
    public int $count = 0;
    protected function counted(): int
    {
        $this->count++;
        return tag();
    }
}

abstract class Base
{
    abstract public function order(int $depth): int;
    public static function make(): static
    {
        tag();
        return new static();
    }
}

class Shop extends Base implements IteratorAggregate, ArrayAccess, Stringable
{
    use Counted;
    private array $kept = [];
    public function __construct()
    {
        tag();
    }
    public function __destruct()
    {
        tag();
    }
    public function order(int $depth): int
    {
        if ($depth > 0) {
            return $this->order($depth - 1) +
                $this->counted();
        }
        return tag();
    }
    public function __call(string $name, array $arguments): int
    {
        return tag();
    }
    public static function __callStatic(string $name, array $arguments): int
    {
        return tag();
    }
    public function __get(string $name): int
    {
        return tag();
    }
    public function __set(string $name, mixed $value): void
    {
        tag();
    }
    public function __toString(): string
    {
        return 'shop' . tag();
    }
    public function __invoke(int $a): int
    {
        return $a + tag();
    }
    public function getIterator(): Generator
    {
        yield tag();
        yield from [1, 2];
        yield tag();
    }
    public function offsetGet(mixed $offset): mixed
    {
        return tag();
    }
    public function offsetSet(mixed $offset, mixed $value): void
    {
        tag();
    }
    public function offsetExists(mixed $offset): bool
    {
        return tag() > 0;
    }
    public function offsetUnset(mixed $offset): void
    {
        tag();
    }
    public function sorted(array $values): array
    {
        usort($values, function ($a, $b) {
            tag();
            return $a <=> $b;
        });
        return array_map(fn ($value) => $value + tag(), $values);
    }
}

// What frees an object that has a function for that, in the middle of a call or at its end.
function leaves(): int
{
    $shop = new Shop();
    $other = new Shop();
    $other = null;
    return tag();
}

function throws(int $depth): void
{
    $held = new Shop();
    try {
        if ($depth == 0) {
            throw new RuntimeException('tag ' . tag());
        }
        throws($depth - 1);
    } finally {
        tag();
    }
}

function generated(int $count): Generator
{
    for ($at = 0; $at < $count; $at++) {
        $got = yield tag() => $at;
        if ($got) {
            tag();
        }
    }
    return tag();
}

function by_reference(array &$values, int ...$more): int
{
    $values[] = tag();
    return count($more);
}

$directory = sys_get_temp_dir() . '/php_frames_' . getmypid();
mkdir($directory);
foreach (['one', 'two'] as $name) {
    // Two files, each of which is compiled anew every time, where the other one was.
    file_put_contents("$directory/$name.php", "<?php\n" . ($name == 'two' ? "\n" : '') . "\$_ = tag();\nreturn tag() +\n    tag();\n");
}
spl_autoload_register(function (string $class) {
    tag();
    eval("class $class { public static function made(): int {\n return tag(); } }");
});

for ($round = 0; $round < $rounds; $round++) {
    $shop = Shop::make();
    $shop->order($round % 7);
    $shop->unknown($round);
    Shop::unknown($round);
    $shop->size;
    $shop->size = 1;
    $text = "a $shop b";
    $text = 'x' . $shop;
    $shop(1);
    foreach ($shop as $value) {
        tag();
    }
    $shop[1];
    $shop[2] = 3;
    isset($shop[1]);
    unset($shop[1]);
    $shop->sorted([3, 1, 2]);
    leaves();
    try {
        throws($round % 4);
    } catch (RuntimeException $thrown) {
        tag();
    }
    $thrown = null;
    $generator = generated(3);
    foreach ($generator as $key => $value) {
        tag();
    }
    $generator = generated(2);
    $generator->current();
    $generator->send(1);
    $generator = null;
    $values = [];
    by_reference($values, 1, 2, 3);
    call_user_func_array('by_reference', [&$values, 1]);
    array_walk($values, function (&$value, $key) use ($shop) {
        $value = tag();
        $shop->order(1);
    });
    $first = $shop->order(...);
    $first(2);
    $bound = Closure::bind(fn () => tag(), null, Shop::class);
    $bound();
    $free = fn () => tag();
    $free();
    include "$directory/one.php";
    require "$directory/two.php";
    eval('tag();');
    eval("\n\ntag(); " . '$inner = fn () => tag(); $inner();');
    $class = "Made$round";
    $class::made();
    preg_replace_callback('/b/', fn ($match) => (string) tag(), 'abcb');
    $fiber = new Fiber(function (int $depth) use ($shop) {
        $shop->order($depth);
        $got = Fiber::suspend(tag());
        array_map(function ($value) {
            tag();
            Fiber::suspend(tag());
        }, [1, $got]);
        return tag();
    });
    $fiber->start($round % 3);
    while (!$fiber->isTerminated()) {
        $fiber->resume(2);
        tag();
    }
    $fiber = null;
    ob_start(function (string $text) {
        return $text . strlen((string) 5);
    });
    echo 'x';
    ob_end_clean();
    $shop = null;
    (new ReflectionFunction('leaves'))->invoke();
    iterator_to_array(new CallbackFilterIterator(new ArrayIterator([1, 2]), fn ($value) => tag() > 0));
}
array_map('unlink', glob("$directory/*.php"));
rmdir($directory);
register_shutdown_function(function () {
    tag();
});
