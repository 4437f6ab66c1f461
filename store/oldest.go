package store

import (
	"context"
	"errors"
)

// Oldest returns the oldest and the newest revision that can be read.
func Oldest(ctx context.Context, s Store) (oldest, newest int64, err error) {
	if newest, err = s.Revision(ctx); err != nil {
		return 0, 0, err
	}
	oldest = 1
	for middle, high := int64(1), newest; oldest < high; middle = oldest + (high-oldest)/2 {
		compacted := &CompactedError{}
		switch _, err := s.Get(ctx, "/", middle); {
		case err == nil, errors.Is(err, ErrNotFound):
			high = middle
		case errors.As(err, &compacted): // most stores say what is left
			oldest = min(max(middle+1, compacted.Compacted), high)
		default:
			return 0, 0, err
		}
	}
	return oldest, newest, nil
}
