package volumeattacher

import (
	"sync"
	"time"

	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/controllers/internal/volumeattacher/decide"
)

// attempts has the attempts that are under way, by the names of the attachments.
type attempts struct {
	mu    sync.Mutex
	begun map[string]attempt
}

// attempt is when the present attempt to attach or detach begins, after how many failures.
type attempt struct {
	of       types.UID
	verb     decide.Verb
	at       time.Time
	failures int
}

// left returns the time until the present attempt ends, which begins now if there is none.
func (a *attempts) left(of *storagev1.VolumeAttachment, verb decide.Verb, delay time.Duration, now time.Time) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.begun == nil {
		a.begun = map[string]attempt{}
	}
	present := a.begun[of.Name]
	if present.of != of.UID || present.verb != verb {
		present = attempt{of: of.UID, verb: verb, at: now}
		a.begun[of.Name] = present
	}
	return max(present.at.Add(delay).Sub(now), 0)
}

// fail ends the present attempt, and returns the delay after which the next one begins.
func (a *attempts) fail(name string, now time.Time) (retry time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	present := a.begun[name]
	present.failures++
	retry = decide.Retry(present.failures)
	present.at = now.Add(retry)
	a.begun[name] = present
	return retry
}

// end forgets the attempts for an attachment.
func (a *attempts) end(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.begun, name)
}
