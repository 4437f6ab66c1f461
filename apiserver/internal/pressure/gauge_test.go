package pressure

import "testing"

func TestLevels(t *testing.T) {
	for inUse, want := range map[uint64]Level{0: Normal, 549: Normal, 550: High, 649: High, 650: Critical, 2000: Critical} {
		g := New(1000)
		g.read = func() uint64 { return inUse }
		if got := g.Level(); got != want {
			t.Errorf("%d of 1000: level %d, want %d", inUse, got, want)
		}
	}
	var none *Gauge
	if none.Level() != Normal || New(0) != nil {
		t.Error("no limit is not normal")
	}
	if New(1).Level() != Critical {
		t.Error("the process uses no memory")
	}
}
