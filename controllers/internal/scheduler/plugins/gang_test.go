package plugins

import "testing"

func TestGang(t *testing.T) {
	for _, test := range []struct {
		gang       Gang
		satisfied  bool
		impossible string
	}{
		{Gang{Min: 1}, false, "minCount (1) cannot be satisfied: 0 scheduled, 0 remaining"},
		{Gang{Min: 3, Remaining: 3}, false, ""},
		{Gang{Min: 3, Scheduled: 1, Remaining: 2}, false, ""},
		{Gang{Min: 3, Scheduled: 1, Remaining: 1}, false, "minCount (3) cannot be satisfied: 1 scheduled, 1 remaining"},
		{Gang{Min: 3, Scheduled: 3}, true, ""},
		{Gang{Min: 3, Scheduled: 5, Remaining: 2}, true, ""},
	} {
		if got := test.gang.Impossible(); got != test.impossible {
			t.Errorf("%+v: %q, want %q", test.gang, got, test.impossible)
		}
		if got := test.gang.Satisfied(); got != test.satisfied {
			t.Errorf("%+v: satisfied %v", test.gang, got)
		}
	}
}
