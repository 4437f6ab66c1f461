package resources

import (
	"testing"
)

func BenchmarkBuiltin(b *testing.B) {
	for b.Loop() {
		Builtin()
	}
}
