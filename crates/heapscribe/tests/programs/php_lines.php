<?php
// Instructions that allocate themselves, each a block of a size of its own: which line it is. One line a block on the
// standard output, "size<TAB>function US file US line". Between a call and such an instruction there is always another
// line, so that one that PHP has saved before is not the right one by chance. argv: rounds.
$rounds = (int) $argv[1];
$number = 0;
$wanted = [];

// Two strings that make one of a size of its own; the block is its bytes, 24 before and one behind them.
function parts(string $function, int $line): array
{
    global $number, $wanted;
    $number++;
    $size = 4000 + 8 * $number;
    $wanted[] = "$size\t$function\x1f" . __FILE__ . "\x1f$line\n";
    $length = $size - 32 + 7;
    return [str_repeat('a', 97 + $number % 89), str_repeat('b', $length - 97 - $number % 89)];
}

// Another one of the same size, at another line.
function same(string $function, int $line): void
{
    global $number, $wanted;
    $wanted[] = 4000 + 8 * $number . "\t$function\x1f" . __FILE__ . "\x1f$line\n";
}

class Lines
{
    public string $text = '';
    public array $all = [];
    public static string $last = '';

    public function method(): string
    {
        [$a, $b] = parts(__METHOD__, __LINE__ + 3);
        $c = 1;
        $c += 2;
        $d = $a . $b;
        [$a, $b] = parts(__METHOD__, __LINE__ + 2);
        $e = $c;
        $this->text = $a . $b;
        [$a, $b] = parts(__METHOD__, __LINE__ + 3);
        $e = $c
            + 1;
        $this->all[] = "$a$b";
        [$a, $b] = parts(__METHOD__, __LINE__ + 2);
        $e = -1;
        self::$last = $a . $b;
        [$a, $b] = parts(__METHOD__, __LINE__ + 2);
        $e = 2;
        return $a . $b;
    }

    public static function changed(): int
    {
        [$a, $b] = parts(__METHOD__, __LINE__ + 2);
        same(__METHOD__, __LINE__ + 4);
        $c = substr($a . $b, 0);
        $d = $c;
        $e = 3;
        $d[0] = 'x';
        return strlen($d);
    }
}

function generator(): Generator
{
    [$a, $b] = parts('generator', __LINE__ + 2);
    $c = 5;
    yield $a . $b;
    [$a, $b] = parts('generator', __LINE__ + 3);
    $c =
        $c + 1;
    yield [$c => "$a$b"];
}

function nested(int $depth): string
{
    if ($depth > 0) {
        $below = nested($depth - 1);
        $depth++;
        return $below;
    }
    [$a, $b] = parts('nested', __LINE__ + 2);
    $c = $depth;
    $text = "{$a}{$b}";
    $c++;
    return $text;
}

for ($round = 0; $round < $rounds; $round++) {
    $lines = new Lines();
    $lines->method();
    Lines::changed();
    foreach (generator() as $text) {
        $round += 0;
    }
    nested($round % 5);
    $closure = function (int $more) {
        [$a, $b] = parts('{closure}', __LINE__ + 2);
        $more *= 2;
        $text = $a . $b;
        $more *= 2;
        return $more;
    };
    $closure(1);
    array_map($closure, [1, 2]);
    [$a, $b] = parts('{main}', __LINE__ + 2);
    $c = $round;
    $text = $a . $b;
    $c++;
    [$a, $b] = parts('{main}', __LINE__ + 3);
    $c = $c > 3
        ? 1 : 2;
    $text = $c > 0 ? $a . $b : '';
    $fiber = new Fiber(function () {
        [$a, $b] = parts('{closure}', __LINE__ + 2);
        $c = 1;
        $text = $a . $b;
        $c = Fiber::suspend($c);
    });
    $fiber->start();
}
fwrite(STDOUT, implode('', $wanted));
