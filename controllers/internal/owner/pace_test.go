package owner

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

func TestPace(t *testing.T) {
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	web, db := types.NamespacedName{Namespace: "a", Name: "web"}, types.NamespacedName{Namespace: "a", Name: "db"}
	var p pace
	p.decided(web, 10*time.Millisecond, now)
	p.decided(db, paceFloor-1, now)
	for name, tt := range map[string]struct {
		owner types.NamespacedName
		at    time.Time
		want  time.Duration
	}{
		"at once":      {web, now, 40 * time.Millisecond},
		"meanwhile":    {web, now.Add(30 * time.Millisecond), 10 * time.Millisecond},
		"cheap":        {db, now, 0},
		"never before": {types.NamespacedName{Name: "other"}, now, 0},
	} {
		if got := p.left(tt.owner, tt.at); got != tt.want {
			t.Errorf("%s: %v is left, want %v", name, got, tt.want)
		}
	}
	if got := p.left(web, now.Add(40*time.Millisecond)); got > 0 {
		t.Errorf("at the end %v is left", got)
	}
	p.decided(web, time.Minute, now)
	if got := p.left(web, now); got != paceLimit {
		t.Errorf("after a long decision %v is left, want %v", got, paceLimit)
	}
	if got := p.left(web, now.Add(-time.Hour)); got != 0 {
		t.Errorf("after the clock was set back %v is left", got)
	}
	p.decided(web, time.Minute, now)
	p.forget(web)
	if got := p.left(web, now); got != 0 || len(p.next) != 0 {
		t.Errorf("of a forgotten owner %v is left, and %v is kept", got, p.next)
	}
}
