package script

import (
	"errors"
	"testing"
	"time"

	"minikcm.dev/minikcm/internal/podspec"
	"minikcm.dev/minikcm/kubeletsim/internal/podtest"
)

// The last lines of a year's log of a container are available at once.
func TestLogOfALongRun(t *testing.T) {
	var lines int
	g := &Program{words: []string{"sh", "-c", "while true; do date +%s; sleep 1; done"}, vars: &podspec.Variables{}}
	year := 365 * 24 * time.Hour
	p := &Process{Began: podtest.Epoch, Budget: OutputBudget, Settled: year}
	last := ""
	p.Write = func(_ Stream, text string) { lines, last = lines+1, text }
	p.Advance = func(took time.Duration) error {
		if took > year {
			return ErrStopped
		}
		return nil
	}
	if _, err := g.Run(p); !errors.Is(err, ErrStopped) {
		t.Fatal(err)
	}
	if want := itoa(int32(podtest.Epoch.Add(year).Unix())) + "\n"; last != want || lines < KeepLines || lines > 2*KeepLines {
		t.Errorf("%d lines, the last %q, want %q", lines, last, want)
	}
}
