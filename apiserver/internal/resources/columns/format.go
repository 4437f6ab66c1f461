package columns

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
)

// The texts of cells whose field is empty.
const (
	none    = "<none>"
	unset   = "<unset>"
	unknown = "<unknown>"
)

// shownItems is the number of items of a long list that a cell shows; it only counts
// the others.
const shownItems = 3

// age returns the time from t to now in kubectl's format: "5m", "3d4h".
func age(t metav1.Time, now time.Time) string {
	if t.IsZero() {
		return unknown
	}
	return duration.HumanDuration(now.Sub(t.Time))
}

func microAge(t metav1.MicroTime, now time.Time) string {
	return age(metav1.Time(t), now)
}

// shorten joins the first items and appends the number of the others.
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

// orElse returns s, or instead if s is empty.
func orElse(s, instead string) string {
	if s == "" {
		return instead
	}
	return s
}

// deref returns the value that p points to, or the zero value.
func deref[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

// containerColumns returns the wide columns of a pod template; containerCells fills
// them.
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
