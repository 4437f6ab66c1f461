//go:build unix

package bench

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/store"
)

const (
	deletedObjects = 10_000
	rawDeletes     = "raw deletes of 1.5 kB from the embedded etcd, 32 writers"
	boundClaims    = 5_000
)

// BenchmarkDeletion measures how many objects a second go with their namespace, and with their
// owner, each compared with raw deletes from the same embedded etcd.
func BenchmarkDeletion(b *testing.B) {
	for b.Loop() {
		deleteRaw(b)
		deleteNamespace(b)
		deleteOwner(b)
	}
}

func deleteRaw(b *testing.B) {
	s, err := store.StartEmbedded(b.Context(), store.EmbeddedOptions{})
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}()
	value := bytes.Repeat([]byte("x"), 1500)
	key := func(i int) string { return fmt.Sprintf("/registry/bench/%d", i) }
	revisions := make([]int64, deletedObjects)
	for i := range revisions {
		if revisions[i], err = s.Put(b.Context(), key(i), value, 0); err != nil {
			b.Fatal(err)
		}
	}
	elapsed := clock.Stopwatch()
	inParallel(b, deletedObjects, func(i int) error {
		_, err := s.Delete(b.Context(), key(i), revisions[i])
		return err
	})
	measured.add(rawDeletes, "deletes/s", deletedObjects/elapsed().Seconds())
}

// dependents creates ConfigMaps of 1 kB in a namespace.
func dependents(ctx context.Context, b *testing.B, cluster *minikcm.Cluster, namespace string, owners ...metav1.OwnerReference) {
	b.Helper()
	inParallel(b, deletedObjects, func(i int) error {
		object := kilobyte(i)
		object.OwnerReferences = owners
		_, err := cluster.Client().CoreV1().ConfigMaps(namespace).Create(ctx, object, metav1.CreateOptions{})
		return err
	})
}

func deleteNamespace(b *testing.B) {
	ctx, cancel := context.WithTimeout(b.Context(), bigTimeout)
	defer cancel()
	cluster := startBig(ctx, b, func(o *minikcm.Options) { o.Nodes.Count = -1 })
	defer closeBig(b, cluster)
	namespaces := cluster.Client().CoreV1().Namespaces()
	created, err := namespaces.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "big"}}, metav1.CreateOptions{})
	if err != nil {
		b.Fatal(err)
	}
	dependents(ctx, b, cluster, created.Name)
	watcher, err := namespaces.Watch(ctx, metav1.SingleObject(created.ObjectMeta))
	if err != nil {
		b.Fatal(err)
	}
	untilGone(ctx, b, "objects of a deleted namespace of 10,000", watcher, func() error {
		return namespaces.Delete(ctx, created.Name, metav1.DeleteOptions{})
	})
}

// untilGone measures the deletion of the watched object until it is gone with all its objects.
func untilGone(ctx context.Context, b *testing.B, name string, watcher watch.Interface, remove func() error) {
	b.Helper()
	elapsed := clock.Stopwatch()
	if err := remove(); err != nil {
		b.Fatal(err)
	}
	until(ctx, b, watcher, func(ev watch.Event) bool { return ev.Type == watch.Deleted })
	measured.add(name, "objects/s", deletedObjects/elapsed().Seconds())
	measured.compare(name, rawDeletes)
}

func deleteOwner(b *testing.B) {
	ctx, cancel := context.WithTimeout(b.Context(), bigTimeout)
	defer cancel()
	cluster := startBig(ctx, b, func(o *minikcm.Options) { o.Nodes.Count = -1 })
	defer closeBig(b, cluster)
	maps := cluster.Client().CoreV1().ConfigMaps(metav1.NamespaceDefault)
	owner, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owner"}}, metav1.CreateOptions{})
	if err != nil {
		b.Fatal(err)
	}
	dependents(ctx, b, cluster, metav1.NamespaceDefault, metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID, BlockOwnerDeletion: ptr.To(true)})
	watcher, err := maps.Watch(ctx, metav1.SingleObject(owner.ObjectMeta))
	if err != nil {
		b.Fatal(err)
	}
	untilGone(ctx, b, "dependents of a deleted owner of 10,000", watcher, func() error {
		return maps.Delete(ctx, owner.Name, metav1.DeleteOptions{PropagationPolicy: ptr.To(metav1.DeletePropagationForeground)})
	})
}

// BenchmarkClaims measures the time from the creation of 5,000 PersistentVolumeClaims until all are
// bound to volumes that the simulated provisioner made.
func BenchmarkClaims(b *testing.B) {
	for b.Loop() {
		bindClaims(b)
	}
}

func bindClaims(b *testing.B) {
	ctx, cancel := context.WithTimeout(b.Context(), bigTimeout)
	defer cancel()
	cluster := startBig(ctx, b, nil)
	defer closeBig(b, cluster)
	class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "at-once"}, Provisioner: "minikcm.dev/simulated"}
	if _, err := cluster.Client().StorageV1().StorageClasses().Create(ctx, class, metav1.CreateOptions{}); err != nil {
		b.Fatal(err)
	}
	claims := cluster.Client().CoreV1().PersistentVolumeClaims(metav1.NamespaceDefault)
	watcher, err := claims.Watch(ctx, metav1.ListOptions{})
	if err != nil {
		b.Fatal(err)
	}
	elapsed := clock.Stopwatch()
	inParallel(b, boundClaims, func(i int) error {
		_, err := claims.Create(ctx, claim(i, class.Name), metav1.CreateOptions{})
		return err
	})
	bound := map[string]bool{}
	until(ctx, b, watcher, func(ev watch.Event) bool {
		if c, ok := ev.Object.(*corev1.PersistentVolumeClaim); ok && c.Status.Phase == corev1.ClaimBound {
			bound[c.Name] = true
		}
		return len(bound) == boundClaims
	})
	took := elapsed().Seconds()
	measured.add("5,000 claims provisioned and bound", "s", took)
	measured.add("claims a second", "claims/s", boundClaims/took)
}

func claim(i int, class string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("claim-", i)}, Spec: corev1.PersistentVolumeClaimSpec{
		StorageClassName: &class, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
	}}
}
