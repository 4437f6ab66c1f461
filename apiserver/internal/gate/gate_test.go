package gate_test

import (
	"testing"

	"go.uber.org/goleak"

	"minikcm.dev/minikcm/apiserver/internal/gate"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A shut gate lets nothing in, and Wait returns when what was inside has left, which the
// functions of CutWith bring about.
func TestGate(t *testing.T) {
	var g gate.Gate
	for range 2 {
		if !g.Enter() {
			t.Fatal("an open gate lets nothing in")
		}
	}
	g.Leave()
	g.CutWith(g.Leave)
	g.Shut()
	if g.Enter() {
		t.Error("a shut gate opens")
	}
	g.Wait()
}
