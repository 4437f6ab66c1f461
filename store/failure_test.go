package store

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
	"k8s.io/klog/v2"
)

// TestFailure makes etcd log at the level that would end the process: the store must
// become unavailable and return the reason, watches must end, and Close must return.
func TestFailure(t *testing.T) {
	t.Run("ephemeral", func(t *testing.T) { testFailure(t, EmbeddedOptions{}) })
	t.Run("durable", func(t *testing.T) { testFailure(t, EmbeddedOptions{DataDir: t.TempDir()}) })
}

func testFailure(t *testing.T, opts EmbeddedOptions) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	s, err := StartEmbedded(ctx, opts)
	if err != nil {
		t.Fatal(err)
	}
	w, err := s.Watch(ctx, "/", 0)
	if err != nil {
		t.Fatal(err)
	}
	returned := make(chan bool)
	go func() {
		defer close(returned)
		etcdLogger(klog.Logger{}, s.failure).Fatal("the disk is gone", zap.String("disk", "sda"))
		returned <- true
	}()
	if <-returned {
		t.Error("the goroutine goes on after a fatal error")
	}
	if _, ok := <-w.Batches(); ok {
		t.Error("the watch goes on")
	}
	_, getErr := s.Get(ctx, "/a", 0)
	for _, err := range []error{w.Err(), getErr} {
		unavailable := (*UnavailableError)(nil)
		if !errors.As(err, &unavailable) || !strings.Contains(err.Error(), "the disk is gone (disk: sda)") {
			t.Errorf("got %v", err)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestFailureDuringStart checks that a start that waits for a lock of a goroutine that ended
// in a fatal log line is left behind.
func TestFailureDuringStart(t *testing.T) {
	f, locked := newFailure(), make(chan struct{})
	f.patience = 0
	defer close(locked)
	etcd, err := unlessFailed(f, func() (*embed.Etcd, error) {
		f.set(errors.New("the disk is full"))
		<-locked
		return nil, nil
	})
	if etcd != nil || err == nil || err.Error() != "the disk is full" {
		t.Errorf("got %v, %v", etcd, err)
	}
}
