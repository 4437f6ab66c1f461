package fence

import "testing"

func TestParse(t *testing.T) {
	want := Token{"kube-system", "minikcm-nodes-07", 42}
	if got, err := Parse(want.String()); err != nil || got != want {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{"", "a", "a/b", "a/b@", "a/b@0", "a/b@-1", "a/b@x", "/b@1", "a/@1", "A/b@1", "a/b/c@1", "a/b@1@2", "a/b@99999999999999999999"} {
		if got, err := Parse(bad); err == nil {
			t.Errorf("%q is parsed as %v", bad, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("kube-system/minikcm-controllers@17")
	f.Fuzz(func(t *testing.T, value string) {
		token, err := Parse(value)
		if err != nil {
			return
		}
		if again, err := Parse(token.String()); err != nil || again != token {
			t.Errorf("%q: %v, then %v, %v", value, token, again, err)
		}
	})
}
