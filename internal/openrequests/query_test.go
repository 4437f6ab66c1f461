package openrequests_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"minikcm.dev/minikcm/internal/openrequests"
)

func TestFollow(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]struct {
		follow bool
		err    string
	}{
		"":                         {},
		"follow=":                  {},
		"follow=false":             {},
		"follow=true":              {follow: true},
		"follow=1&timeout=32s":     {follow: true},
		"follow=yes":               {err: `follow="yes" is neither true nor false`},
		"follow=true&follow=false": {err: `the parameter "follow" is given 2 times`},
		"folow=true":               {err: `unknown parameter "folow": this request has follow`},
		"follow=true&x":            {err: `unknown parameter "x"`},
		"follow=%zz":               {err: "parsing the query"},
		"follow=true;x=1":          {err: "parsing the query"},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.URL.RawQuery = query
		follow, err := openrequests.Follow(r)
		if follow != want.follow || (err == nil) != (want.err == "") {
			t.Errorf("%q: got %t, %v", query, follow, err)
		}
		if err != nil && (!apierrors.IsBadRequest(err) || !strings.Contains(err.Error(), want.err)) {
			t.Errorf("%q: got %v, want a BadRequest with %s", query, err, want.err)
		}
	}
	r := httptest.NewRequest("POST", "/?x=1", nil)
	if _, err := openrequests.Parameters(r); err == nil || !strings.Contains(err.Error(), "this request has none") {
		t.Errorf("a parameter where there are none: %v", err)
	}
}
