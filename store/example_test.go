package store_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"minikcm.dev/minikcm/store"
)

// A write names the revision that it expects; the second of two concurrent writers gets
// the state that the first has written.
func Example() {
	ctx := context.Background()
	s, err := store.StartEmbedded(ctx, store.EmbeddedOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	w, err := s.Watch(ctx, "/colours/", 0)
	if err != nil {
		log.Fatal(err)
	}
	revision, err := s.Put(ctx, "/colours/sky", []byte("grey"), 0)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := s.Put(ctx, "/colours/sky", []byte("blue"), revision); err != nil {
		log.Fatal(err)
	}
	_, err = s.Put(ctx, "/colours/sky", []byte("red"), revision)
	if conflict := (*store.ConflictError)(nil); errors.As(err, &conflict) {
		fmt.Printf("too late, it is %s\n", conflict.Current.Value)
	}
	for received := 0; received < 2; {
		for _, event := range (<-w.Batches()).Events {
			fmt.Printf("%s is %s\n", event.KeyValue.Key, event.KeyValue.Value)
			received++
		}
	}
	// Output:
	// too late, it is blue
	// /colours/sky is grey
	// /colours/sky is blue
}
