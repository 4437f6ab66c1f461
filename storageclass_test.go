package minikcm_test

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/internal/dump"
	"minikcm.dev/minikcm/minikcmtest"
)

// TestStorageClasses lists the StorageClasses of new clusters, with the annotations that mark them.
func TestStorageClasses(t *testing.T) {
	t.Parallel()
	foreign := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": map[string]any{"name": "gp3"}, "provisioner": "ebs.csi.aws.com",
	}}
	for name, tt := range map[string]struct {
		option func(*minikcm.Options)
		want   string
	}{
		"by default":            {func(*minikcm.Options) {}, "standard minikcm.dev/simulated map[storageclass.kubernetes.io/is-default-class:true]\n"},
		"without a provisioner": {func(o *minikcm.Options) { o.Controllers.Selected = []string{"*", "-simulated-volume-provisioner"} }, ""},
		"with a dump": {func(o *minikcm.Options) {
			o.Storage.Objects = dump.New("the test", []*unstructured.Unstructured{foreign})
		}, "gp3 ebs.csi.aws.com map[minikcm.dev/simulated:true]\n"},
		"with an empty dump": {func(o *minikcm.Options) { o.Storage.Objects = dump.New("the test", nil) }, "standard minikcm.dev/simulated map[storageclass.kubernetes.io/is-default-class:true]\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := minikcmtest.New(t, minikcmtest.WithOptions(tt.option))
			classes, err := c.Client().StorageV1().StorageClasses().List(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			var got string
			for _, class := range classes.Items {
				got += fmt.Sprintln(class.Name, class.Provisioner, class.Annotations)
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
