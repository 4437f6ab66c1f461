package columns

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
)

// What stands in a cell whose field is empty.
const (
	none    = "<none>"
	unset   = "<unset>"
	unknown = "<unknown>"
)

// shownItems is how many items of a long list a cell shows before it only counts.
const shownItems = 3

// age is the time from t to now as people say it: "5m", "3d4h".
func age(t metav1.Time, now time.Time) string {
	if t.IsZero() {
		return unknown
	}
	return duration.HumanDuration(now.Sub(t.Time))
}

func microAge(t metav1.MicroTime, now time.Time) string {
	return age(metav1.Time(t), now)
}

// shorten joins the first items and says how many more there are.
func shorten(items []string, empty string) string {
	switch {
	case len(items) == 0:
		return empty
	case len(items) > shownItems:
		return fmt.Sprintf("%s + %d more...", strings.Join(items[:shownItems], ","), len(items)-shownItems)
	default:
		return strings.Join(items, ",")
	}
}

// orElse is s, or instead when s is empty.
func orElse(s, instead string) string {
	if s == "" {
		return instead
	}
	return s
}

// deref is what p points to, or the type's zero value.
func deref[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

// containerColumns are the wide columns of a pod template; containerCells fills them.
func containerColumns() []column {
	return []column{
		wide(text("Containers", "The names of the containers in the pod template.")),
		wide(text("Images", "The images of the containers in the pod template.")),
	}
}

func containerCells(containers []corev1.Container) (names, images string) {
	n := make([]string, 0, len(containers))
	im := make([]string, 0, len(containers))
	for i := range containers {
		n = append(n, containers[i].Name)
		im = append(im, containers[i].Image)
	}
	return strings.Join(n, ","), strings.Join(im, ",")
}
