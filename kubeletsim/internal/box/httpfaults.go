package box

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"minikcm.dev/minikcm/internal/network/faults"
)

// changeRequest changes a request as a fault says.
func changeRequest(r *http.Request, c *faults.Change) {
	if c.Method != "" {
		r.Method = c.Method
	}
	changed := *r.URL
	if c.Path != "" {
		changed.Path, changed.RawPath = c.Path, ""
	}
	if len(c.Query)+len(c.AddQuery) > 0 {
		values := changed.Query()
		changePairs(c.Query, c.AddQuery, url.Values.Set, url.Values.Add, values)
		changed.RawQuery = values.Encode()
	}
	r.URL, r.RequestURI = &changed, changed.RequestURI()
	changePairs(c.Headers, c.AddHeaders, http.Header.Set, http.Header.Add, r.Header)
	if c.Body == nil && c.JSON == nil || r.Body == nil {
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // it is in memory
	}
	body = changeBody(body, c)
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	if r.Header.Get("Content-Length") != "" {
		r.Header.Set("Content-Length", strconv.Itoa(len(body)))
	}
}

// change changes the answer as a fault says.
func (a *answer) change(c *faults.Change) {
	if c.Status != 0 {
		a.status = c.Status
	}
	changePairs(c.Headers, c.AddHeaders, http.Header.Set, http.Header.Add, a.header)
	if c.Body != nil || c.JSON != nil {
		a.body = changeBody(a.body, c)
		a.header.Del("Content-Length")
	}
}

func changePairs[M any](set, add []faults.Pair, setOne, addOne func(M, string, string), in M) {
	for _, p := range set {
		setOne(in, p.Name, p.Value)
	}
	for _, p := range add {
		addOne(in, p.Name, p.Value)
	}
}

func changeBody(body []byte, c *faults.Change) []byte {
	if c.Body != nil {
		body = []byte(*c.Body)
	}
	if c.JSON != nil {
		body = c.JSON.Apply(body)
	}
	return body
}
