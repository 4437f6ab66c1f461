package apiserver

import (
	"context"

	"minikcm.dev/minikcm/apiserver/internal/eviction"
	"minikcm.dev/minikcm/apiserver/internal/resources"
	"minikcm.dev/minikcm/apiserver/internal/reviews"
	"minikcm.dev/minikcm/apiserver/internal/verbs"
	"minikcm.dev/minikcm/internal/inflight"
)

// kindCall is a call as the handlers of rows see it: it adds the server's functions for single
// kinds to the verbs.
type kindCall struct {
	*verbs.Call
	reviews.Answers
	eviction.Evictions
	server *Server
}

// newReviewer returns the Reviewer, which answers reviews.
func (s *Server) newReviewer() *reviews.Reviewer {
	return &reviews.Reviewer{
		Authorizer: s.opts.Authorizer, Questions: s.recorder.Questions(), Verify: s.verifyToken, Tokens: s.tokens,
		Objects: s.storedCore, Now: s.preparer.Now,
	}
}

func (s *Server) kindCall(rq *verbs.Call) kindCall {
	return kindCall{rq, s.reviewer.Answers(&rq.Request), s.evictor.Evictions(rq), s}
}

// newVerbs returns the verbs on the server's objects.
func (s *Server) newVerbs() *verbs.Backend {
	return &verbs.Backend{
		Table: s.table, Objects: s.objects, Special: func(rq *verbs.Call) resources.Request { return s.kindCall(rq) },
		Preparer: s.preparer, Fields: s.fields, Admission: s.admission, Authorize: s.authorizeVerb, Writes: s.log, Expires: s.expirer.Wrote,
		Pause: func(ctx context.Context, work *inflight.Work) context.Context {
			waits := s.opts.StoreWaits
			if waits != nil && waits() || s.isVirtual() { // a fault may delay it, or a webhook in a pod
				return s.withPause(ctx, work)
			}
			return ctx
		},
		Clock: s.opts.Clock, Ledger: s.opts.Ledger, Random: s.opts.Random, Logger: s.opts.Logger, Virtual: s.isVirtual(), SharedStore: s.opts.SharedStore,
		MaxWatchTime: s.opts.MaxWatchTime, Stopped: s.done,
	}
}
