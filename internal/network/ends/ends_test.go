package ends

import "testing"

// Whatever is written is read or refused.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"app=web", "deploy/web", "pod/shop/web", "10.0.0.0/8", "::1", "outside", "*", "zone/a", "a in (b)", "pvc/x", "node/", "svc/a/b/c"} {
		f.Add("shop", text)
	}
	f.Fuzz(func(t *testing.T, namespace, text string) {
		e, err := Parse(namespace, text)
		if err != nil {
			return
		}
		if e.String() != text || e.Kind == "" {
			t.Errorf("%q is read as %+v", text, e)
		}
		e.Selects(&Peer{})
	})
}

func TestRefused(t *testing.T) {
	for _, text := range []string{"", "web", "pvc/x", "node/", "svc/a/b/c", "node/a/b", "10.0.0.0/99", "app in web"} {
		if e, err := Parse("shop", text); err == nil {
			t.Errorf("%q is read as %+v", text, e)
		}
	}
}
