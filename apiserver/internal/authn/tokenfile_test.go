package authn

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/klog/v2"
)

func TestParseTokens(t *testing.T) {
	for name, test := range map[string]struct {
		text, token string
		want        *user.DefaultInfo
		failed      string
	}{
		"plain":           {text: "t,jane,1", token: "t", want: &user.DefaultInfo{Name: "jane", UID: "1"}},
		"groups":          {text: "t,jane,1,\"dev,ops\"\n", token: "t", want: &user.DefaultInfo{Name: "jane", UID: "1", Groups: []string{"dev", "ops"}}},
		"one group":       {text: "t,jane,1,dev", token: "t", want: &user.DefaultInfo{Name: "jane", UID: "1", Groups: []string{"dev"}}},
		"unquoted groups": {text: "t,jane,1,dev,ops", token: "t", want: &user.DefaultInfo{Name: "jane", UID: "1", Groups: []string{"dev"}}},
		"no token":        {text: ",jane,1\nt,joe,2", token: ""},
		"empty lines":     {text: "\n\nt,joe,2\n\n", token: "t", want: &user.DefaultInfo{Name: "joe", UID: "2"}},
		"twice":           {text: "t,jane,1\nt,joe,2", token: "t", want: &user.DefaultInfo{Name: "joe", UID: "2"}},
		"two columns":     {text: "t,jane,1\n\nu,joe", failed: "line 3: must have at least 3 columns (token, user name, user uid), found 2"},
		"an open quote":   {text: "t,jane,1,\"dev", failed: `line 1, column 14: extraneous or missing " in quoted-field`},
		"a stray quote":   {text: "t,jane,1\nu,jo\"e,2", failed: `line 2, column 5: bare " in non-quoted-field`},
	} {
		t.Run(name, func(t *testing.T) {
			tokens, err := parseTokens([]byte(test.text), klog.Background())
			if test.failed != "" {
				if err == nil || err.Error() != test.failed {
					t.Fatalf("got %v, want %q", err, test.failed)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			answer, ok, err := tokens.AuthenticateToken(t.Context(), test.token)
			if err != nil || ok != (test.want != nil) {
				t.Fatalf("%v, %v", ok, err)
			}
			if ok {
				if diff := cmp.Diff(user.Info(test.want), answer.User); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

// FuzzParseTokens parses arbitrary files: the empty token is never accepted, and an error
// names a line.
func FuzzParseTokens(f *testing.F) {
	for _, text := range []string{"t,jane,1", "t,jane,1,\"dev,ops\"", ",,,", "\"\n", "t,jane", "\xff,\x00,1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		tokens, err := parseTokens([]byte(text), klog.Background())
		if err != nil {
			if !strings.HasPrefix(err.Error(), "line ") {
				t.Errorf("%v", err)
			}
			return
		}
		if _, ok, _ := tokens.AuthenticateToken(t.Context(), ""); ok {
			t.Error("the empty token is accepted")
		}
	})
}
