package request

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// retryWhenFull is how long a client should wait whose response does not fit, in seconds.
const retryWhenFull = 1

// Reserve counts n more bytes that the response keeps in memory until the client has read it; a
// negative n counts fewer. It returns an error with code 429 if they do not fit into the
// budget of the process. A response to a write is always sent: the write has been made.
func (rq *Request) Reserve(n int64) error {
	if rq.Verb != VerbGet && rq.Verb != VerbList {
		rq.Reserved.Force(n)
		return nil
	}
	if rq.Reserved.Grow(n) {
		return nil
	}
	return apierrors.NewTooManyRequests(fmt.Sprintf("the responses that are being sent take their part of the memory (%s); retry when clients have read them, ask for fewer objects (limit), or raise --memory-limit", rq.Reserved), retryWhenFull)
}
