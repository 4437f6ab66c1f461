package loop_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/loop"
)

// BenchmarkKey measures the cost of a key from its Add to the end of a reconcile that does nothing,
// with workers side by side and where keys take turns.
func BenchmarkKey(b *testing.B) {
	for _, turns := range []bool{false, true} {
		b.Run(fmt.Sprintf("turns=%v", turns), func(b *testing.B) {
			ledger := clock.NewLedger()
			if turns {
				ledger.TakeTurns(1, false)
			}
			l := loop.New(loop.Options{Name: "bench", Workers: 4, Ledger: ledger}, loop.Func(func(context.Context, types.NamespacedName) (loop.Result, error) {
				return loop.Result{}, nil
			}))
			ctx, cancel := context.WithCancel(b.Context())
			var run sync.WaitGroup
			run.Go(func() {
				if err := l.Run(ctx); err != nil {
					b.Error(err)
				}
			})
			keys := make([]types.NamespacedName, 1000)
			for i := range keys {
				keys[i] = types.NamespacedName{Namespace: "default", Name: fmt.Sprintf("key-%d", i)}
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				l.Add(keys[i%len(keys)])
				if i%len(keys) == len(keys)-1 {
					if err := ledger.WaitIdle(ctx); err != nil {
						b.Fatal(err)
					}
				}
			}
			cancel()
			run.Wait()
		})
	}
}
