package inflight

import "testing"

func TestLedgerDoesNotLie(t *testing.T) {
	l := NewLedger()
	l.begin(Event, 3)
	defer func() {
		if recover() == nil {
			t.Error("ended a request that was not begun")
		}
	}()
	l.end(Request, 1)
}
