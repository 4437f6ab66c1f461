package modeltest

import (
	"fmt"
	"runtime"
	"testing"
)

// Work sets up something to measure for an owner with the given number of children, such as
// a decision about it. do can be called repeatedly.
type Work func(t testing.TB, children int) (do func() error)

// Sizes returns the numbers of children with which work is measured.
func Sizes() []int { return []int{10, 1000, 10_000} }

// Benchmark measures the time of work by the number of children.
func Benchmark(b *testing.B, work Work) {
	for _, n := range Sizes() {
		b.Run(fmt.Sprintf("children=%d", n), func(b *testing.B) {
			do := work(b, n)
			b.ReportAllocs()
			for b.Loop() {
				if err := do(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/child")
		})
	}
}

// growthSlack is the factor by which the memory per child may grow from one size to the
// next.
const growthSlack = 1.5

// CheckGrowth fails the test if the allocations of work grow faster than the number of
// children. Allocations, unlike time, do not depend on the machine; Benchmark measures
// time.
func CheckGrowth(t *testing.T, work Work) {
	t.Helper()
	var counts, bytes []float64
	sizes := Sizes()
	if testing.Short() {
		sizes = sizes[:len(sizes)-1]
	}
	for _, n := range sizes {
		count, size, err := allocations(work(t, n))
		if err != nil {
			t.Fatal(err)
		}
		counts, bytes = append(counts, count), append(bytes, size)
		t.Logf("%d children: %.0f allocations, %.0f bytes", n, count, size)
	}
	for i := 1; i < len(sizes); i++ {
		more := float64(sizes[i]) / float64(sizes[i-1]) * growthSlack
		if counts[i] > counts[i-1]*more || bytes[i] > bytes[i-1]*more {
			t.Errorf("from %d to %d children, allocations grow from %.0f to %.0f, bytes from %.0f to %.0f: that is not in proportion",
				sizes[i-1], sizes[i], counts[i-1], counts[i], bytes[i-1], bytes[i])
		}
	}
}

// allocations returns the number and size of do's allocations. It takes the minimum of
// several calls, because the runtime may allocate at the same time.
func allocations(do func() error) (count, bytes float64, err error) {
	for i := range 3 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if err := do(); err != nil {
			return 0, 0, err
		}
		runtime.ReadMemStats(&after)
		n, size := float64(after.Mallocs-before.Mallocs), float64(after.TotalAlloc-before.TotalAlloc)
		if i == 0 || n < count {
			count, bytes = n, size
		}
	}
	return count, bytes, nil
}
