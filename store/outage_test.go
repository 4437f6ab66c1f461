package store_test

import (
	"errors"
	"fmt"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"minikcm.dev/minikcm/internal/storetest"
	"minikcm.dev/minikcm/store"
)

// An etcd that is restarted has lost no acknowledged write. While it is down operations
// return UnavailableError, and watches later continue without a gap.
func TestEtcdGoneAndBack(t *testing.T) {
	ctx := storetest.Context(t)
	etcd := storetest.NewEtcd(t, storetest.EtcdOptions{})
	s := storetest.DialEtcd(t, store.EtcdOptions{Endpoints: []string{etcd.Endpoint}})
	w, err := s.Watch(ctx, "/", 0)
	if err != nil {
		t.Fatal(err)
	}
	acknowledged := map[string]int64{}
	for round := range 2 {
		for i := range 20 {
			key := fmt.Sprintf("/%d/%02d", round, i)
			acknowledged[key] = mustPut(t, s, key, "x", 0)
		}
		etcd.Stop()
		unavailable := (*store.UnavailableError)(nil)
		if _, err := s.Put(ctx, "/refused", nil, 0); !errors.As(err, &unavailable) {
			t.Errorf("writing without etcd: %v", err)
		}
		if _, err := s.Get(ctx, "/0/00", 0); !errors.As(err, &unavailable) {
			t.Errorf("reading without etcd: %v", err)
		}
		etcd.Start()
		// etcd's client retries reads until etcd is back, but not writes.
		if _, err := s.Get(ctx, "/0/00", 0); err != nil {
			t.Errorf("reading when etcd is back: %v", err)
		}
	}
	list, err := s.List(ctx, "/", store.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, kv := range list.KeyValues {
		if kv.Key != "/refused" && acknowledged[kv.Key] != kv.ModRevision {
			t.Errorf("%s is at revision %d, which was acknowledged as %d", kv.Key, kv.ModRevision, acknowledged[kv.Key])
		}
	}
	if len(list.KeyValues) < len(acknowledged) {
		t.Errorf("there are %d keys, and %d were acknowledged", len(list.KeyValues), len(acknowledged))
	}
	seen := map[string]int64{}
	for len(seen) < len(acknowledged) {
		batch, open := <-w.Batches()
		if !open {
			t.Fatalf("the watch ended: %v", w.Err())
		}
		for _, event := range batch.Events {
			if want := acknowledged[event.KeyValue.Key]; want != event.KeyValue.ModRevision {
				t.Errorf("the watch delivers %s at revision %d, which was acknowledged as %d", event.KeyValue.Key, event.KeyValue.ModRevision, want)
			}
			seen[event.KeyValue.Key] = event.KeyValue.ModRevision
		}
	}
}

// Only the operator can free space in an external etcd: the store returns ErrNoSpace,
// and accepts writes again once the operator has freed some.
func TestEtcdWithoutSpace(t *testing.T) {
	ctx := storetest.Context(t)
	etcd := storetest.NewEtcd(t, storetest.EtcdOptions{QuotaBytes: smallQuota})
	s := storetest.DialEtcd(t, store.EtcdOptions{Endpoints: []string{etcd.Endpoint}})
	revision := putUntil(ctx, t, s, "/big", isNoSpace)
	if _, err := s.Get(ctx, "/big", 0); err != nil {
		t.Errorf("reading while there is no space: %v", err)
	}
	if err := s.Compact(ctx, revision); err != nil {
		t.Fatal(err)
	}
	operator, err := clientv3.New(clientv3.Config{Endpoints: []string{etcd.Endpoint}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	defer operator.Close()
	if _, err := operator.Defragment(ctx, etcd.Endpoint); err != nil {
		t.Fatal(err)
	}
	if _, err := operator.AlarmDisarm(ctx, &clientv3.AlarmMember{}); err != nil {
		t.Fatal(err)
	}
	putUntil(ctx, t, s, "/big", isNil)
}
