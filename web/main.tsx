import { createRoot } from 'react-dom/client';
import { App } from './app.js';
import { Page } from './page-state.js';

const root = document.getElementById('page');
if (!root) throw new Error('index.html has no element with the id page');
const page = new Page();
createRoot(root).render(<App page={page} />);
void page.start();
