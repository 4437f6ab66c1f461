package executor

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func TestDeletions(t *testing.T) {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s", UID: "u", ResourceVersion: "7"}}
	secrets, failure := corev1.Resource("secrets"), errors.New("the server is gone")
	for name, test := range map[string]struct{ answer, want error }{
		"deleted":   {nil, nil},
		"gone":      {apierrors.NewNotFound(secrets, "s"), nil},
		"another":   {apierrors.NewConflict(secrets, "s", errors.New("the UID is another one")), nil},
		"forbidden": {failure, failure},
	} {
		t.Run(name, func(t *testing.T) {
			var asked metav1.DeleteOptions
			with := func(_ context.Context, name string, opts metav1.DeleteOptions) error {
				if asked = opts; name != "s" {
					t.Errorf("%s is deleted", name)
				}
				return test.answer
			}
			if err := DeleteSame(t.Context(), with, secret); !errors.Is(err, test.want) {
				t.Errorf("DeleteSame: %v, want %v", err, test.want)
			}
			if p := asked.Preconditions; ptr.Deref(p.UID, "") != "u" || p.ResourceVersion != nil {
				t.Errorf("the preconditions of DeleteSame: %v", p)
			}
			if err := DeleteUnchanged(t.Context(), with, secret); !errors.Is(err, test.want) {
				t.Errorf("DeleteUnchanged: %v, want %v", err, test.want)
			}
			if p := asked.Preconditions; ptr.Deref(p.UID, "") != "u" || ptr.Deref(p.ResourceVersion, "") != "7" {
				t.Errorf("the preconditions of DeleteUnchanged: %v", p)
			}
		})
	}
}
