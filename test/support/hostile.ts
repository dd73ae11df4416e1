/** Texts with which a model may break a page, a table, or the display of text. */
export const HOSTILE: readonly string[] = [
  '<script>document.title = "pwned"</script>',
  '</span></p></details><img src=x onerror="document.title=1"> <svg onload=alert(1)>',
  `" onmouseover="document.title='pwned'" x="`,
  "' & &lt;b&gt; &#60;i&#62; <!-- --> ]]> <![CDATA[",
  '\u202Egnorw si siht\u202C \u2066isolated',
  'שלום עולם, هذا نص من اليمين',
  'w'.repeat(3000),
  '\0\x07\x1b[31mred\x7f \ufffe \ud800 alone',
  '| a | b |\n|---|---|\n# heading\n- [x](javascript:alert(1)) **bold** _it_ `code` ``` ~~gone~~ $x$',
  '````\nout of the fence\n````',
];
