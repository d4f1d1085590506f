// Keeps buffers, whose bytes are in the heap of the process.
import java.nio.ByteBuffer;
import java.util.ArrayList;

class Leak {
    static final ArrayList<ByteBuffer> kept = new ArrayList<>();

    static void loadOrder(int n) {
        kept.add(ByteBuffer.allocateDirect(2000 + n));
    }

    public static void main(String[] arguments) {
        for (int i = 0; i < 40000; i++) {
            loadOrder(i % 7);
        }
    }
}
