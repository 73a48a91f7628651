// Package document reads YAML and JSON, and keeps the position of each value. All programs of this module
// read configuration by it, so that they agree about a file.
//
//	docs, err := document.ParseYAML(file)
//	name := docs[0].Get("name")
//	fmt.Println(name, name.Line, name.Column)
//
// A document has at most [MaxValues] values and [MaxDepth] levels. The caller bounds the size of the file.
package document
