<?php
// Objects of rows, sorted and grouped, written as a page and as JSON and read back. Prints a hash of it all.
class Row
{
    public function __construct(public int $id, public string $name, public float $price, public array $tags) {}

    public function line(): string
    {
        return sprintf("<li id=\"%d\">%s: %.2f (%s)</li>", $this->id, ucwords($this->name), $this->price, implode(", ", $this->tags));
    }
}

function rows(int $count): array
{
    $rows = [];
    for ($i = 0; $i < $count; $i++) {
        $tags = array_map(fn($n) => "tag " . ($i * $n % 50), range(1, 1 + $i % 4));
        $rows[] = new Row($i, "row no " . ($i * 7919 % $count), ($i * 31 % 1000) / 7, $tags);
    }
    return $rows;
}

function page(array $rows): string
{
    usort($rows, fn($a, $b) => strcmp($a->name, $b->name));
    $groups = [];
    foreach ($rows as $row) {
        foreach ($row->tags as $tag) {
            $groups[$tag][] = $row->line();
        }
    }
    ksort($groups);
    $out = "";
    foreach ($groups as $tag => $lines) {
        $out .= "<h2>$tag</h2>\n<ul>" . implode("\n", $lines) . "</ul>\n";
    }
    return $out;
}

$hash = hash_init("sha256");
for ($turn = 0; $turn < (int) $argv[1]; $turn++) {
    $rows = rows(20000);
    hash_update($hash, page($rows));
    $text = json_encode($rows);
    hash_update($hash, (string) count(json_decode($text, true)) . $text);
}
print hash_final($hash) . "\n";
