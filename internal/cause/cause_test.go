package cause_test

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/internal/cause"
)

func TestParse(t *testing.T) {
	for header, want := range map[string][]int64{
		"":                        nil,
		"7":                       {7},
		"7,8,1000":                {7, 8, 1000},
		" 7 , 8":                  {7, 8},
		"7,x,8":                   {7, 8},
		"0,-1,3":                  {3},
		",,":                      nil,
		"99999999999999999999,5":  {5},
		strings.Repeat("1,", 100): slices.Repeat([]int64{1}, 32),
	} {
		if got := cause.Parse(header); !slices.Equal(got, want) {
			t.Errorf("Parse(%q) = %v, want %v", header, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("1,2,3")
	f.Add("1;2")
	f.Fuzz(func(t *testing.T, header string) {
		got := cause.Parse(header)
		if len(got) > 32 {
			t.Errorf("%d causes", len(got))
		}
		for _, n := range got {
			if n <= 0 || !strings.Contains(header, strconv.FormatInt(n, 10)) && !strings.Contains(header, "0") {
				t.Errorf("%d is not in %q", n, header)
			}
		}
	})
}

type seen struct{ header []string }

func (s *seen) RoundTrip(req *http.Request) (*http.Response, error) {
	s.header = append(s.header, req.Header.Get(cause.Header))
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
}

func TestWrap(t *testing.T) {
	many := make([]int64, 40)
	for i := range many {
		many[i] = int64(i + 1)
	}
	s := &seen{}
	transport := cause.Wrap(s)
	for _, c := range []struct {
		causes []int64
		want   []int64
	}{{nil, nil}, {[]int64{5, 9}, []int64{5, 9}}, {many, many[8:]}} {
		ctx := cause.With(t.Context(), c.causes)
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://server.invalid", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := transport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if got := cause.Parse(s.header[len(s.header)-1]); !slices.Equal(got, c.want) {
			t.Errorf("sent %v for %v, want %v", got, c.causes, c.want)
		}
		if req.Header.Get(cause.Header) != "" {
			t.Error("changed the caller's request")
		}
	}
}

func TestOf(t *testing.T) {
	for version, want := range map[string][]int64{"": nil, "7": {7}, "x": nil} {
		if got := cause.Of(&metav1.ObjectMeta{ResourceVersion: version}); !slices.Equal(got, want) {
			t.Errorf("%q: got %v, want %v", version, got, want)
		}
	}
}

// passing is a transport in the process of its server.
type passing struct{ seen }

func (*passing) PassesContext() {}

// A server that gets the context of a request reads the causes from it.
func TestContextPasser(t *testing.T) {
	next := &passing{}
	req, err := http.NewRequestWithContext(cause.With(t.Context(), []int64{7}), http.MethodGet, "http://in-memory.invalid", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := cause.Wrap(next).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if len(next.header) != 1 || next.header[0] != "" {
		t.Errorf("headers %q", next.header)
	}
}
