package box

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"minikcm.dev/minikcm/kubeletsim/internal/applets"
)

func TestEveryAppletHasAnImplementation(t *testing.T) {
	names := slices.Sorted(slices.Values(append(applets.Names(), applets.Others()...)))
	if diff := cmp.Diff(names, slices.Sorted(maps.Keys(programs()))); diff != "" {
		t.Errorf("names and implementations differ (-names +implementations):\n%s", diff)
	}
}
