package fault

import (
	"testing"
	"time"
)

func TestEtcd(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"{action: unavailable}", "{action: noSpace}", "{action: leaderLoss, delay: 5s}", "{action: leaderLoss}", "{action: unavailable, operations: [writes], prefix: /registry/configmaps/}",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			f := read(t, "{etcd: "+text+", for: 2m}")
			b := newBench(t, f)
			b.web(2)
			wait := b.begin(t.Context(), f)
			b.advance(time.Second)
			if _, err := b.create("a"); err == nil {
				t.Error("a write succeeds")
			}
			if err := wait(); err != nil {
				t.Fatal(err)
			}
			b.run(read(t, "pods: {action: kill, all: true}"))
			b.advance(5 * time.Minute)
			if _, err := b.create("b"); err != nil || b.ready() != 2 {
				t.Errorf("in the end: %v, and %d pods are ready", err, b.ready())
			}
		})
	}
}

func TestSlowEtcd(t *testing.T) {
	t.Parallel()
	f := read(t, "{etcd: {action: slow, delay: 1s}, for: 10m}")
	b := newBench(t, f)
	wait := b.begin(t.Context(), f)
	b.advance(time.Second)
	if took, err := b.create("a"); err != nil || took < time.Second {
		t.Errorf("a write takes %v: %v", took, err)
	}
	b.web(2)
	if err := wait(); err != nil {
		t.Fatal(err)
	}
	if took, err := b.create("b"); err != nil || took > 0 {
		t.Errorf("in the end it takes %v: %v", took, err)
	}
}
