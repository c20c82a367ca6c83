// Command draw writes a page, and a picture of it where there is a Chromium.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/rollcall-dev/rollcall/test/dashboard"
)

func main() {
	file := flag.String("dashboard", "../../deploy/chart/files/dashboard.json", "Grafana's JSON")
	alerts := flag.String("alerts", "../../deploy/chart/files/alerts.yaml", "alerts that are evaluated meanwhile")
	dir := flag.String("dir", "testdata/stuck", "directory with a block of Prometheus")
	out := flag.String("out", "dashboard.html", "file for the page")
	picture := flag.String("png", "", "file for a picture of the page")
	height := flag.Int("height", 0, "pixels of the picture, from the top (0: all)")
	from := flag.Duration("from", 0, "what is left out at the beginning")
	length := flag.Duration("for", 0, "how long what is drawn is (0: all)")
	scrape := flag.Duration("scrape", 5*time.Second, "interval of the scrapes")
	note := flag.String("note", "drawn by test/dashboard, not by Grafana", "what the page says of itself")
	flag.Parse()
	if err := draw(*file, *alerts, *dir, *out, *picture, *height, *from, *length, *scrape, *note); err != nil {
		fmt.Fprintln(os.Stderr, "draw:", err)
		os.Exit(1)
	}
}

func draw(file, alerts, dir, out, picture string, height int, from, length, scrape time.Duration, note string) error {
	ctx := context.Background()
	d, err := dashboard.Read(file)
	if err != nil {
		return err
	}
	store, err := dashboard.Open(dir)
	if err != nil {
		return err
	}
	defer store.Close()
	if err := store.Alert(ctx, alerts); err != nil {
		return err
	}
	v := dashboard.View{Store: store, Scrape: scrape}
	v.From, v.To = store.Span(from, length)
	var page bytes.Buffer
	if err := v.Draw(ctx, &page, d, note); err != nil {
		return err
	}
	if err := os.WriteFile(out, page.Bytes(), 0o644); err != nil {
		return err
	}
	if picture == "" {
		return nil
	}
	shot, problems, err := dashboard.Picture(ctx, page.Bytes(), height)
	if err != nil {
		return err
	}
	for _, p := range problems {
		fmt.Fprintln(os.Stderr, "no room:", p)
	}
	return os.WriteFile(picture, shot, 0o644)
}
