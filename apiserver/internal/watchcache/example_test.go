package watchcache_test

import (
	"context"
	"fmt"
	"strconv"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/internal/watchcache"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/store"
)

// A writer announces its writes, so that the cache does not decode them; a watcher
// starts with the state and then receives changes.
func Example() {
	ctx := context.Background()
	s := store.NewMemory()
	defer s.Close()
	withRevision := func(obj runtime.Object, revision int64) runtime.Object {
		c := *obj.(*v1.ConfigMap)
		c.ResourceVersion = strconv.FormatInt(revision, 10)
		return &c
	}
	cache := watchcache.New(watchcache.Config{
		Store: s, Prefix: "/registry/configmaps/", Clock: clock.Real(),
		Decode: func(kv store.KeyValue) (runtime.Object, error) {
			c := &v1.ConfigMap{}
			err := c.Unmarshal(kv.Value)
			return withRevision(c, kv.ModRevision), err
		},
		Attrs: func(obj runtime.Object) (labels.Set, fields.Fields) {
			c := obj.(*v1.ConfigMap)
			return c.Labels, fields.Set{"metadata.name": c.Name}
		},
		WithRevision: withRevision,
	})
	defer cache.Close()

	watcher, err := cache.Watch(ctx, watchcache.WatchOptions{Prefix: "/registry/configmaps/default/"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer watcher.Stop()

	key, obj := "/registry/configmaps/default/a", &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}}
	value, err := obj.Marshal()
	if err != nil {
		fmt.Println(err)
		return
	}
	write := cache.Wrote(key, value, obj)
	revision, err := s.Put(ctx, key, value, 0)
	if err != nil {
		write.Failed()
		fmt.Println(err)
		return
	}
	cache.Committed(revision)

	events, err := watcher.Next(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, e := range events {
		fmt.Println(e.Type, e.Entry.Key)
	}
	// Output: ADDED /registry/configmaps/default/a
}
