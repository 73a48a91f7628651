package diag

import (
	"encoding/json"
	"testing"
)

func TestList(t *testing.T) {
	bag := &Bag{File: "b.yaml"}
	bag.Add(Pos{3, 1}, BadValue, "third")
	bag.AddHint(Pos{2, 9}, UnknownKey, "say so", "second %q", "x")
	bag.Add(Pos{2, 1}, UnknownKey, "first")
	bag.Add(Pos{2, 1}, UnknownKey, "first")
	bag.Add(Pos{}, Syntax, "nowhere")
	list := append(bag.Errors(), Diagnostic{File: "a.yaml", Line: 9, Column: 9, Code: Syntax, Message: "other"}).Sort()
	const want = `a.yaml:9:9: other [XG001]
b.yaml:1:1: nowhere [XG001]
b.yaml:2:1: first [XG003]
b.yaml:2:9: second "x" (say so) [XG003]
b.yaml:3:1: third [XG006]`
	if got := list.Error(); got != want {
		t.Errorf("list:\n%s\nwant:\n%s", got, want)
	}
	data, err := json.Marshal(list[3:4])
	if err != nil {
		t.Fatal(err)
	}
	const wantJSON = `[{"file":"b.yaml","line":2,"column":9,"code":"XG003","message":"second \"x\"","hint":"say so"}]`
	if string(data) != wantJSON {
		t.Errorf("JSON %s\nwant %s", data, wantJSON)
	}
}

func TestSuggest(t *testing.T) {
	words := []string{"service_name", "name", "weight", "min_len", "max_len"}
	for word, want := range map[string]string{
		"service_nam": "service_name", "nam": "name", "wieght": "weight", "mn_len": "min_len", "in_len": "min_len",
		"x": "", "completely_other": "", "": "",
	} {
		if want != "" {
			want = `did you mean "` + want + `"?`
		}
		if got := Suggest(word, words); got != want {
			t.Errorf("Suggest(%q) = %q; want %q", word, got, want)
		}
	}
}
