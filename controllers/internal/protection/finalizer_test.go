package protection

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestFinalizers(t *testing.T) {
	now := metav1.NewTime(time.Date(2026, time.January, 5, 0, 0, 0, 0, time.UTC))
	for name, test := range map[string]struct {
		has      []string
		deleting bool
		used     bool
		want     []string
		write    bool
	}{
		"new":                   {nil, false, false, []string{"f"}, true},
		"new, of others":        {[]string{"o"}, false, true, []string{"o", "f"}, true},
		"nothing to do":         {[]string{"f"}, false, false, nil, false},
		"deleted, used":         {[]string{"f", "o"}, true, true, nil, false},
		"deleted, unused":       {[]string{"f", "o"}, true, false, []string{"o"}, true},
		"deleted, not ours":     {[]string{"o"}, true, false, nil, false},
		"deleted and last used": {[]string{"f"}, true, false, []string{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			pv := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Finalizers: test.has}}
			if test.deleting {
				pv.DeletionTimestamp = &now
			}
			got, write := Finalizers(pv, "f", func() bool {
				if !test.deleting {
					t.Error("asked for the use of an object that is not being deleted")
				}
				return test.used
			})
			if write != test.write || !slices.Equal(got, test.want) {
				t.Errorf("%v %v", got, write)
			}
		})
	}
}
