package auth

import "testing"

// TestRecent checks that used entries are kept and that the size is bounded.
func TestRecent(t *testing.T) {
	var r recent[int, string]
	r.put(-1, "used")
	for i := range 10 * maxRecent {
		r.put(i, "x")
		if got, ok := r.get(-1); !ok || got != "used" {
			t.Fatalf("forgotten after %d others", i)
		}
	}
	if _, ok := r.get(0); ok {
		t.Error("an unused entry is kept")
	}
	if n := len(r.young) + len(r.old); n > 2*maxRecent {
		t.Errorf("%d are remembered", n)
	}
}
