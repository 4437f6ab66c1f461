package auth

import (
	"strconv"
	"testing"
)

// TestVerified keeps what is used, and does not grow without end.
func TestVerified(t *testing.T) {
	var v verified
	used := &Claims{}
	v.put("used", used)
	for i := range 10 * maxVerified {
		v.put(strconv.Itoa(i), &Claims{})
		if v.get("used") != used {
			t.Fatalf("forgotten after %d others", i)
		}
	}
	if v.get("0") != nil {
		t.Error("what nobody uses is remembered")
	}
	if n := len(v.young) + len(v.old); n > 2*maxVerified {
		t.Errorf("%d are remembered", n)
	}
}
