package store_test

import (
	"testing"

	"minikcm.dev/minikcm/internal/storetest"
	"minikcm.dev/minikcm/store"
)

func TestSuite(t *testing.T) {
	t.Run("embedded", func(t *testing.T) {
		storetest.Run(t, func(t *testing.T) store.Store { return storetest.StartEmbedded(t, store.EmbeddedOptions{}) })
	})
	t.Run("embedded with a data directory", func(t *testing.T) {
		storetest.Run(t, func(t *testing.T) store.Store {
			return storetest.StartEmbedded(t, store.EmbeddedOptions{DataDir: t.TempDir()})
		})
	})
	t.Run("memory", func(t *testing.T) {
		storetest.Run(t, func(t *testing.T) store.Store {
			s := store.NewMemory()
			t.Cleanup(func() {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
			return s
		})
	})
	t.Run("etcd", func(t *testing.T) {
		storetest.Run(t, func(t *testing.T) store.Store {
			return storetest.DialEtcd(t, store.EtcdOptions{Endpoints: []string{storetest.StartEtcd(t, storetest.EtcdOptions{})}})
		})
	})
}

func TestModel(t *testing.T) {
	openMemory := func() (store.Store, error) { return store.NewMemory(), nil }
	storetest.RunModel(t, func() (store.Store, error) {
		return store.StartEmbedded(t.Context(), store.EmbeddedOptions{})
	}, openMemory)
}
