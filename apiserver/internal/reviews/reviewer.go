package reviews

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/apiserver/internal/request"
	"minikcm.dev/minikcm/apiserver/internal/resources"
	"minikcm.dev/minikcm/apiserver/internal/storage"
	"minikcm.dev/minikcm/internal/auth"
)

// Reviewer answers all reviews of an API server.
type Reviewer struct {
	// Authorizer decides about requests. Questions decides the same, for questions that are no
	// requests.
	Authorizer, Questions auth.Authorizer
	// Verify returns the user of a token, which must have one of the audiences; empty means the
	// server's own.
	Verify func(ctx context.Context, token string, audiences []string) (*auth.Verified, error)
	Tokens *auth.Tokens
	// Objects returns the storage of a resource of the core group.
	Objects func(plural string) *storage.Objects
	Now     func() metav1.Time
}

// Answers are the answers to one request.
type Answers struct {
	rq       *request.Request
	reviewer *Reviewer
}

var _ resources.Reviews = Answers{}

// Answers returns the answers to a request.
func (r *Reviewer) Answers(rq *request.Request) Answers { return Answers{rq, r} }
