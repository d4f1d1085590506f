// Blocks of known sizes from known stacks, and the profile of them that Go writes, exact.
package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
)

var kept [][]byte

//go:noinline
func keepMany() {
	for i := 0; i < 40; i++ {
		kept = append(kept, make([]byte, 1024))
	}
}

//go:noinline
func churn() {
	for i := 0; i < 100; i++ {
		sink = make([]byte, 64)
	}
}

var sink []byte

func init() { runtime.MemProfileRate = 1 }

func main() {
	keepMany()
	churn()
	runtime.GC()
	// Both profiles are of the same moment, the last collection.
	debug.SetGCPercent(-1)
	for i, name := range os.Args[1:] {
		f, _ := os.Create(name)
		pprof.Lookup("heap").WriteTo(f, i)
		f.Close()
	}
}
