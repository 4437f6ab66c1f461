package openrequests

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// clientTimeout is the parameter with which client-go sends the timeout of its configuration.
const clientTimeout = "timeout"

// Parameters returns a request's query, and a BadRequest if it cannot be parsed, or has a
// parameter twice or one that is not known.
func Parameters(r *http.Request, known ...string) (url.Values, error) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("parsing the query: %v", err))
	}
	for name, values := range query {
		switch {
		case len(values) > 1:
			return nil, apierrors.NewBadRequest(fmt.Sprintf("the parameter %q is given %d times", name, len(values)))
		case name == clientTimeout || slices.Contains(known, name):
		case len(known) == 0:
			return nil, apierrors.NewBadRequest(fmt.Sprintf("unknown parameter %q: this request has none", name))
		default:
			return nil, apierrors.NewBadRequest(fmt.Sprintf("unknown parameter %q: this request has %s", name, strings.Join(known, " and ")))
		}
	}
	return query, nil
}

// Follow returns the parameter follow of a request, which must have no other.
func Follow(r *http.Request) (bool, error) {
	query, err := Parameters(r, "follow")
	if err != nil {
		return false, err
	}
	return Boolean(query, "follow")
}

// Boolean returns a parameter that is true or false; false if it is not given.
func Boolean(query url.Values, name string) (bool, error) {
	text := query.Get(name)
	if text == "" {
		return false, nil
	}
	value, err := strconv.ParseBool(text)
	if err != nil {
		return false, apierrors.NewBadRequest(fmt.Sprintf("%s=%q is neither true nor false", name, text))
	}
	return value, nil
}
