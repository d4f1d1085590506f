<?php
class Shop
{
    private array $kept = [];
    private string $head = '<html>';

    public function render(string $path): int
    {
        $body = str_repeat($path, 2000);
        $size = strlen($body);
        $this->kept[$path] = $this->head . $body;
        return $size;
    }
}

$shop = new Shop();
for ($i = 0; $i < 400; $i++) {
    $shop->render("/page-$i");
}
