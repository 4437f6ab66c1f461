package verbs

import (
	"context"
	"errors"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/internal/request"
	"minikcm.dev/minikcm/apiserver/internal/storage"
	"minikcm.dev/minikcm/apiserver/internal/watchcache"
	"minikcm.dev/minikcm/store"
)

// serveList serves GET on a collection.
func serveList(ctx context.Context, rq *Call) error {
	opts, err := rq.ListOptions()
	if err != nil {
		return err
	}
	// A watch of one object by name is also a list: kubectl get -w uses a field
	// selector.
	p, err := rq.list(ctx, opts)
	if err != nil {
		return err
	}
	return rq.WriteList(p)
}

// list reads a page according to resourceVersion, resourceVersionMatch, limit and
// continue (Kubernetes documentation, "API Concepts: Resource versions").
func (rq *Call) list(ctx context.Context, opts *request.ListOptions) (*request.Page, error) {
	if opts.Continue != "" {
		from, revision, err := decodeContinue(opts.Continue, rq.Prefix())
		if err != nil {
			return nil, apierrors.NewBadRequest("invalid continue token: " + err.Error())
		}
		if opts.ResourceVersion != "" && opts.ResourceVersion != "0" {
			return nil, apierrors.NewBadRequest("specifying resource version is not allowed when using continue")
		}
		// An inconsistent token continues at the newest revision and stays there.
		revision = max(revision, 0)
		if err := rq.reach(ctx, revision); err != nil {
			return nil, err
		}
		match := watchcache.Exact
		if revision == 0 {
			match = watchcache.Consistent
		}
		return rq.listCache(ctx, opts, from, revision, match)
	}
	revision, err := storage.ParseRevision(opts.ResourceVersion)
	if err != nil {
		return nil, apierrors.NewBadRequest("invalid resource version: " + err.Error())
	}
	if err := rq.reach(ctx, revision); err != nil {
		return nil, err
	}
	match := revisionMatch(opts, revision)
	if rq.namesOne(opts) {
		opts.Limit = 0 // as upstream, which reads the object: there is no further page
	}
	if opts.ResourceVersion == "0" {
		opts.Limit = 0 // as upstream: the cache returns everything in one page
		if at := behind(ctx); at > 0 {
			return rq.listStore(ctx, opts, "", at)
		}
	}
	return rq.listCache(ctx, opts, "", revision, match)
}

// namesOne reports whether the field selector of a list matches one object at most.
func (rq *Call) namesOne(opts *request.ListOptions) bool {
	if _, named := opts.Field.RequiresExactMatch("metadata.name"); !named {
		return false
	}
	_, within := opts.Field.RequiresExactMatch("metadata.namespace")
	return within || !rq.Row.Namespaced || rq.Namespace != ""
}

// listCache reads a page, from the key from on, from the cache, or from the store if the cache
// does not have the state. A past state must be one that the store still has, whichever of them
// is asked.
func (rq *Call) listCache(ctx context.Context, opts *request.ListOptions, from string, revision int64, match watchcache.RevisionMatch) (*request.Page, error) {
	list, err := rq.Objects.Cache().List(ctx, watchcache.ListOptions{
		Prefix: rq.Prefix(), Revision: revision, Match: match, Label: opts.Label, Field: opts.Field, Limit: opts.Limit, From: from,
	})
	if errors.Is(err, watchcache.ErrNotCached) {
		return rq.listStore(ctx, opts, from, revision)
	}
	if err != nil {
		return nil, storage.Translate(err, rq.GroupResource(), "")
	}
	if list.Past || match == watchcache.Exact && from != "" {
		if err := rq.Objects.HasRevision(ctx, revision); err != nil {
			return nil, rq.listError(err, from, revision)
		}
	}
	return rq.cachedPage(list, opts)
}

// revisionMatch returns the state that a list reads. A limit with a resourceVersion and
// no match means exactly that version, for compatibility with clients older than
// resourceVersionMatch.
func revisionMatch(opts *request.ListOptions, revision int64) watchcache.RevisionMatch {
	switch {
	case opts.ResourceVersionMatch == metav1.ResourceVersionMatchExact:
		return watchcache.Exact
	case opts.ResourceVersion == "":
		return watchcache.Consistent
	case revision == 0:
		return watchcache.Any
	case opts.ResourceVersionMatch == "" && opts.Limit > 0:
		return watchcache.Exact
	}
	return watchcache.NotOlderThan
}

func (rq *Call) cachedPage(list *watchcache.List, opts *request.ListOptions) (*request.Page, error) {
	p := &request.Page{Objects: make([]runtime.Object, len(list.Entries)), Entries: list.Entries}
	p.Meta.ResourceVersion = strconv.FormatInt(list.Revision, 10)
	for i, entry := range list.Entries {
		p.Objects[i] = rq.FromStored(entry.Object())
	}
	if !list.More {
		return p, nil
	}
	token, err := encodeContinue(rq.Prefix(), list.NextKey, list.Revision)
	if err != nil {
		return nil, err
	}
	p.Meta.Continue = token
	if opts.Everything() {
		p.Meta.RemainingItemCount = &list.Remaining
	}
	return p, nil
}

// listStore reads a page from the store itself: of a revision whose state the cache no longer
// has. With selectors it reads until the page is
// full.
func (rq *Call) listStore(ctx context.Context, opts *request.ListOptions, from string, revision int64) (*request.Page, error) {
	p := &request.Page{}
	expected := rq.expectedBytes(opts.Limit)
	if err := rq.Reserve(expected); err != nil {
		return nil, err
	}
	for {
		result, objects, err := rq.Objects.ListAt(ctx, rq.Prefix(), store.ListOptions{Revision: revision, Limit: opts.Limit, From: from})
		if err != nil {
			return nil, rq.listError(err, from, revision)
		}
		if err := rq.Reserve(memoryOf(result) - expected); err != nil {
			return nil, err
		}
		expected = 0
		if revision == 0 {
			revision = result.Revision
		}
		p.Meta.ResourceVersion = strconv.FormatInt(revision, 10)
		for i, obj := range objects {
			if !rq.Objects.Matches(obj, opts.Label, opts.Field) {
				continue
			}
			p.Add(rq.FromStored(obj))
			if opts.Limit > 0 && int64(p.Len()) == opts.Limit {
				return p, rq.finishPage(p, opts, result, i, revision)
			}
		}
		if !result.More() || len(result.KeyValues) == 0 {
			return p, nil
		}
		from = result.KeyValues[len(result.KeyValues)-1].Key + "\x00"
	}
}

// finishPage sets the continue token of a full page, whose last object is the i-th of
// result.
func (rq *Call) finishPage(p *request.Page, opts *request.ListOptions, result *store.ListResult, i int, revision int64) error {
	remaining := result.Count - int64(i) - 1
	if remaining == 0 {
		return nil
	}
	token, err := encodeContinue(rq.Prefix(), result.KeyValues[i].Key+"\x00", revision)
	if err != nil {
		return err
	}
	p.Meta.Continue = token
	if opts.Everything() {
		p.Meta.RemainingItemCount = &remaining
	}
	return nil
}

// listError converts the error of a list whose revision is compacted: in the middle of
// a list, it includes a token to continue with, which gives up consistency.
func (rq *Call) listError(err error, from string, revision int64) error {
	var compacted *store.CompactedError
	if !errors.As(err, &compacted) {
		var future *store.FutureRevisionError
		if errors.As(err, &future) {
			return tooLargeResourceVersion(revision, future.Current)
		}
		return storage.Translate(err, rq.GroupResource(), "")
	}
	if from == "" {
		return apierrors.NewResourceExpired("The resourceVersion for the provided list is too old.")
	}
	token, encodeErr := encodeContinue(rq.Prefix(), from, inconsistent)
	if encodeErr != nil {
		return encodeErr
	}
	expired := apierrors.NewResourceExpired("The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.")
	expired.ErrStatus.ListMeta.Continue = token
	return expired
}

// tooLargeResourceVersion returns the error for a version that does not exist yet.
func tooLargeResourceVersion(asked, current int64) error {
	err := apierrors.NewTimeoutError("Too large resource version: "+strconv.FormatInt(asked, 10)+", current: "+strconv.FormatInt(current, 10), 1)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge, Message: "Too large resource version"}}
	return err
}
