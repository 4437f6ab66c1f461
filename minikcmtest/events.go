package minikcmtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// maxListedEvents is how many events an error lists, the newest ones.
const maxListedEvents = 30

// EventuallyEvent returns when the namespace has an event about an object of that kind whose
// type, reason and message, joined by spaces, equal want. It waits as Eventually does,
// because recorders write events asynchronously. If the event does not come, the test fails with
// the events that there were.
func (c *Cluster) EventuallyEvent(namespace, kind, want string) {
	c.t.Helper()
	seen := map[types.UID]corev1.Event{} // those that have expired since, too
	c.Eventually(fmt.Sprintf("the event %q about a %s in namespace %s", want, kind, namespace), func(ctx context.Context, client kubernetes.Interface) error {
		list, err := client.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for i := range list.Items {
			e := &list.Items[i]
			if e.InvolvedObject.Kind == kind && e.Type+" "+e.Reason+" "+e.Message == want {
				return nil
			}
			seen[e.UID] = *e
		}
		return errors.New(describeEvents(slices.Collect(maps.Values(seen)), kind))
	})
}

// describeEvents lists the events of a namespace: those about objects of the kind, or else all.
func describeEvents(all []corev1.Event, kind string) string {
	about := slices.DeleteFunc(slices.Clone(all), func(e corev1.Event) bool { return e.InvolvedObject.Kind != kind })
	text := fmt.Sprintf("there were %d about a %s", len(about), kind)
	if len(about) == 0 {
		about = slices.Clone(all)
		text = fmt.Sprintf("there were none about a %s, and %d about other objects", kind, len(about))
	}
	slices.SortFunc(about, func(a, b corev1.Event) int {
		return cmp.Or(happened(&a).Compare(happened(&b)), cmp.Compare(a.Name, b.Name))
	})
	if skipped := len(about) - maxListedEvents; skipped > 0 {
		about = about[skipped:]
		text += fmt.Sprintf(", the last %d of which are", maxListedEvents)
	}
	for i := range about {
		text += fmt.Sprintf("\n  %s/%s: %s", about[i].InvolvedObject.Kind, about[i].InvolvedObject.Name, eventLine(&about[i]))
	}
	return text
}

// happened returns the time of an event's last occurrence.
func happened(e *corev1.Event) time.Time {
	switch {
	case e.Series != nil:
		return e.Series.LastObservedTime.Time
	case !e.LastTimestamp.IsZero():
		return e.LastTimestamp.Time
	}
	return e.EventTime.Time
}
