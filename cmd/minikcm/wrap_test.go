package main

import "testing"

func TestWrapped(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text  string
		width int
		want  string
	}{
		{"one two\nthree four", 9, "one two\nthree\nfour"},
		{"a word-that-is-longer here", 8, "a\nword-that-is-longer\nhere"},
		{"one\ntwo\n\n    code  stays\n\nthree", 80, "one two\n\n    code  stays\n\nthree"},
		{"控制器调谐 Pod，很好。", 10, "控制器调谐\nPod，很\n好。"},
		{"（API）", 4, "（API）"},
	} {
		if got := wrapped(test.text, test.width); got != test.want {
			t.Errorf("%q in %d columns is %q, want %q", test.text, test.width, got, test.want)
		}
	}
}

func TestLanguageOf(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ all, lang, want string }{
		{"", "", "en"}, {"", "zh_CN.UTF-8", "zh"}, {"C", "zh_CN.UTF-8", "en"}, {"zh_TW", "de_DE", "zh"},
	} {
		env := map[string]string{"LC_ALL": test.all, "LANG": test.lang}
		if got := languageOf(func(name string) string { return env[name] }); got != test.want {
			t.Errorf("%v: %s, want %s", env, got, test.want)
		}
	}
}
