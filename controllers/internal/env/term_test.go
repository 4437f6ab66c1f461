package env

import (
	"net/http"
	"testing"

	"k8s.io/client-go/rest"
)

// TestTerm checks that the requests of a term pass through its transport, whichever credentials
// a controller has.
func TestTerm(t *testing.T) {
	wrapped := 0
	wrap := func(next http.RoundTripper) http.RoundTripper {
		wrapped++
		return next
	}
	shared := &Env{
		Config:    &rest.Config{Host: "shared"},
		Account:   func(string) (*rest.Config, error) { return &rest.Config{Host: "account"}, nil },
		AccountOf: map[string]string{"job-controller": "job-controller"},
	}
	term, end, err := shared.Term(t.Context(), &rest.Config{Host: "own"}, wrap)
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	for name, host := range map[string]string{"job-controller": "account", "deployment-controller": "own"} {
		wrapped = 0
		config, err := term.ConfigFor(name)
		if err != nil {
			t.Fatal(err)
		}
		config.WrapTransport(http.DefaultTransport)
		if config.Host != host || wrapped != 1 {
			t.Errorf("%s uses %s, through the term's transport %d times", name, config.Host, wrapped)
		}
	}
}
